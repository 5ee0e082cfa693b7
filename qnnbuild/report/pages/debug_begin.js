drawPictures();
